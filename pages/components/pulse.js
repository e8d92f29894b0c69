// Redraws live parts of a page when something changed, and only when the page is at rest: a redraw that is asked for
// while a click is on its way to the server could swallow the click.
const TICK_MS = 1000
const AFTER_PRESS_MS = 600

const parts = new Set()
let ticking = null
let pressedAt = -Infinity

const atRest = (page) =>
  performance.now() - pressedAt > AFTER_PRESS_MS &&
  page.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning"

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
  const current = await token()
  if (current === null || !atRest(page)) return
  const now = performance.now()
  for (const part of parts) {
    const since = now - part.drawnAt
    if ((current !== part.token && since >= part.soonest) || since >= part.latest) {
      part.drawnAt = now
      part.redraw()
    }
  }
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
      page.addEventListener(kind, () => (pressedAt = performance.now()), { capture: true, passive: true })
    }
    ticking = setInterval(() => tick(page), TICK_MS)
  }
  return () => parts.delete(part)
}
