// Redraws live parts of a page when something changed, and only when the page is at rest: a redraw that is asked for
// while a click is on its way to the server could swallow the click.
const TICK_MS = 1000
const ANSWER_MS = 3000 // how long a press may take to reach the server when the machine is busy
const SETTLE_MS = 600 // a script that ends may be the one before the press

const parts = new Set()
let ticking = null
let quietUntil = 0
let watching = null

const app = (page) => page.querySelector('[data-testid="stApp"]')

// A press is answered when the script that it asked for has run to its end; one that asks for none just gets old.
const atRest = (page) =>
  performance.now() > quietUntil && app(page)?.dataset.testScriptState === "notRunning"

function watch(page) {
  const shown = app(page)
  if (!shown || watching?.shown === shown) return
  watching?.observer.disconnect()
  const observer = new MutationObserver(() => {
    if (shown.dataset.testScriptState === "notRunning") {
      quietUntil = Math.min(quietUntil, performance.now() + SETTLE_MS)
    }
  })
  observer.observe(shown, { attributeFilter: ["data-test-script-state"] })
  watching = { shown, observer }
}

const pressed = (event) => {
  if (event.type !== "keydown" || event.key === "Enter" || !event.target.closest?.("input, textarea")) {
    quietUntil = performance.now() + ANSWER_MS
  }
}

async function token() {
  try {
    const answer = await fetch("/api/changes", { headers: { Accept: "application/json" } })
    return answer.ok ? (await answer.json()).token : null
  } catch {
    return null // the server is away: the next tick asks again
  }
}

async function tick(page) {
  if (!parts.size || page.hidden) return
  watch(page)
  const current = await token()
  if (current === null || !atRest(page)) return
  const now = performance.now()
  const isDue = (part) => {
    const since = now - part.drawnAt
    return (current !== part.token && since >= part.soonest) || since >= part.latest
  }
  // One at a time: of two parts that are asked for together, Streamlit redraws only one and drops the other.
  const next = [...parts].filter(isDue).sort((one, other) => one.drawnAt - other.drawnAt)[0]
  if (!next) return
  next.drawnAt = now
  next.redraw()
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const page = parentElement.ownerDocument ?? document
  const part = (parentElement.logicianPulse ??= {})
  Object.assign(part, {
    token: data.token,
    soonest: data.soonest_ms,
    latest: data.latest_ms,
    drawnAt: performance.now(),
    redraw: () => setTriggerValue("changed", Date.now()),
  })
  parts.add(part)
  if (ticking === null) {
    for (const kind of ["pointerdown", "keydown"]) {
      page.addEventListener(kind, pressed, { capture: true, passive: true })
    }
    page.defaultView.addEventListener("popstate", pressed, { capture: true })
    ticking = setInterval(() => tick(page), TICK_MS)
  }
  return () => parts.delete(part)
}
