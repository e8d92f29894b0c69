// What a run is writing right now, from its event stream. Closed steps are drawn by the page itself: an event that
// closes one asks the page to draw again, and what was live stays until the page says that it has drawn that far.

const STEPS = /^(message\.added|tool\.(started|finished)|approval\.|gate\.decided|model\.(retry|failed)|verify\.|run\.|context\.trimmed|history\.repaired|budget\.|loop\.)/
const TAIL = 6000

// When the page is at rest. A redraw that is asked for while a click is on its way to the server is merged with it and
// can swallow it, so it waits until the page has answered the click, or shown that there was nothing to answer.
const rest = {
  pressedAt: -Infinity,
  begunAt: -Infinity,
  watch(page) {
    const app = page.querySelector('[data-testid="stApp"]')
    if (!app || this.app === app) return
    this.app = app
    const look = () => {
      if (app.dataset.testScriptState !== "notRunning") this.begunAt = performance.now()
    }
    new MutationObserver(look).observe(app, { attributeFilter: ["data-test-script-state"] })
    for (const kind of ["pointerdown", "keydown"]) {
      page.addEventListener(kind, () => (this.pressedAt = performance.now()), { capture: true, passive: true })
    }
  },
  get now() {
    if (this.app && this.app.dataset.testScriptState !== "notRunning") return false
    return performance.now() - this.pressedAt > 600 || this.begunAt > this.pressedAt
  },
}

class LiveRun {
  constructor(root) {
    this.root = root
    rest.watch(document)
    this.find = (name) => root.querySelector("." + name)
    this.run = null
    this.timer = setInterval(() => this.tick(), 500)
  }

  update(data) {
    if (data.run !== this.run) {
      this.close()
      Object.assign(this, { run: data.run, seq: data.base, text: "", reasoning: "", message: null, closedAt: 0 })
      Object.assign(this, { calls: new Map(), progress: null, final: false, done: false, ended: false, asked: 0, retries: 0, spoken: 0 })
      this.activity = data.activity
      this.connect(data.url)
    }
    this.data = data
    if (data.drawn >= this.seq) this.activity = data.activity
    this.clock = performance.now() - data.elapsed * 1000
    for (const [id, title] of Object.entries(data.tools)) {
      if (!this.calls.has(id)) this.calls.set(id, { title, text: "", closedAt: 0 })
    }
    this.settle()
    this.draw()
  }

  // Connection

  connect(url) {
    const source = new EventSource(url + "?after=" + this.seq)
    this.source = source
    source.onmessage = (event) => {
      this.retries = 0
      if (source === this.source) this.take(JSON.parse(event.data))
    }
    source.addEventListener("end", () => {
      this.done = true
      source.close()
      this.ask()
    })
    source.onerror = () => {
      source.close()
      if (this.done || source !== this.source) return
      this.retries += 1
      this.again = setTimeout(() => this.connect(url), Math.min(4000, 250 * 2 ** this.retries))
    }
  }

  close() {
    clearTimeout(this.again)
    this.source?.close()
    this.source = null
  }

  // Events

  take(event) {
    if (event.seq <= this.seq) return
    this.seq = event.seq
    const { type, data } = event
    const call = this.calls.get(data.call_id)
    if (type === "text.delta" || type === "reasoning.delta") {
      if (this.message !== data.message_id) {
        this.open(data.message_id)
        this.ask()
      }
      if (type === "text.delta") this.text += data.text
      else this.reasoning += data.text
      this.activity = type === "text.delta" ? "Writing" : "Thinking"
    } else if (type === "call.progress") {
      this.progress = data
      this.activity = "Preparing " + data.name
    } else if (type === "text.reset" || type === "run.interrupted") {
      this.open(null)
    } else if (type === "model.started") {
      this.activity = "Waiting for the model"
    } else if (type === "message.added") {
      this.added(data.message, event.seq)
    } else if (type === "tool.started") {
      this.calls.set(data.call_id, { title: data.description, text: "", closedAt: 0 })
      this.activity = data.description
    } else if (type === "tool.output" && call) {
      call.text = (call.text + data.text).slice(-TAIL)
    } else if (type === "tool.finished" && call) {
      call.closedAt = event.seq
    } else if (type === "verify.started") {
      this.activity = "Checking: " + data.command
    } else if (type === "run.cancel_requested") {
      this.activity = "Stopping"
    } else if (type === "run.finished") {
      this.activity = data.outcome === "cancelled" ? "Stopped" : ""
      this.ended = true
    } else if (type === "run.waiting") {
      this.activity = "Waiting for you"
      this.say("Waiting for you.")
    }
    if (STEPS.test(type)) this.ask()
    this.settle()
    this.draw()
  }

  open(message) {
    Object.assign(this, { message, text: "", reasoning: "", progress: null, closedAt: 0, final: false, spoken: 0 })
  }

  added(message, seq) {
    if (message?.role !== "assistant") return
    const calls = message.tool_calls ?? []
    this.open(message.id)
    this.text = message.text
    this.final = calls.length === 0
    this.closedAt = seq
  }

  // What was closed goes when the page has drawn it; the answer stays until the page replaces this component.
  settle() {
    const drawn = this.data?.drawn ?? 0
    if (this.closedAt && !this.final && this.closedAt <= drawn) this.open(null)
    for (const [id, call] of this.calls) if (call.closedAt && call.closedAt <= drawn) this.calls.delete(id)
  }

  // Ask the page to draw again: once for a burst of events, when it is at rest, and again if it did not.
  ask() {
    if (this.asking) return
    const send = () => {
      if (!rest.now) {
        this.asking = setTimeout(send, 50)
        return
      }
      this.asking = null
      this.asked = performance.now()
      this.trigger("step", this.seq)
    }
    this.asking = setTimeout(send, 40)
  }

  // Drawing

  draw() {
    if (this.frame) return
    this.frame = requestAnimationFrame(() => {
      this.frame = null
      this.paint()
    })
  }

  paint() {
    const reasoning = this.text ? "" : this.reasoning
    this.find("reasoning").hidden = !reasoning
    this.find("reasoning").textContent = reasoning.split("\n").slice(-8).join("\n")
    showMarkdown(this.find("text"), this.text)
    this.find("text").classList.toggle("writing", Boolean(this.text) && !this.closedAt)
    const tails = [...this.calls.values()].filter((call) => call.text)
    const box = this.find("tails")
    while (box.children.length > tails.length) box.lastChild.remove()
    tails.forEach((call, index) => {
      const pre = box.children[index] ?? box.appendChild(document.createElement("pre"))
      const text = call.text.split("\n").slice(-14).join("\n")
      if (pre.textContent !== text) pre.textContent = text
      pre.setAttribute("aria-label", "Output of " + call.title)
    })
    this.speak()
    this.tick()
  }

  tick() {
    if (!this.data) return
    const seconds = Math.max(0, Math.round((performance.now() - this.clock) / 1000))
    const time = seconds < 60 ? seconds + " s" : Math.floor(seconds / 60) + " min " + (seconds % 60) + " s"
    const written = this.progress ? " · " + this.progress.characters.toLocaleString() + " characters" : ""
    const lost = this.retries > 1 ? "Connection lost, trying again" : this.activity + written
    this.find("activity").textContent = lost
    this.find("time").textContent = this.ended ? "" : time
    this.find("status").hidden = this.data.waiting || (this.ended && !this.activity)
    const stale = this.closedAt > this.data.drawn || [...this.calls.values()].some((call) => call.closedAt > this.data.drawn)
    if ((stale || this.done) && this.asked && performance.now() - this.asked > 3000) this.ask()
  }

  // A screen reader hears whole paragraphs, not tokens.
  speak() {
    const blocks = this.find("text").shownBlocks ?? []
    const whole = this.closedAt ? blocks.length : blocks.length - 1
    for (; this.spoken < whole; this.spoken += 1) this.say(blocks[this.spoken].node.textContent)
  }

  say(words) {
    const log = this.find("spoken")
    if (words) log.append(Object.assign(document.createElement("p"), { textContent: words.slice(0, 2000) }))
    while (log.children.length > 20) log.firstChild.remove()
  }

  stop() {
    this.close()
    clearInterval(this.timer)
    clearTimeout(this.asking)
    cancelAnimationFrame(this.frame)
  }
}

const shown = new WeakMap()

export default function (component) {
  const { parentElement, data, setTriggerValue } = component
  let live = shown.get(parentElement)
  if (!live) {
    live = new LiveRun(parentElement)
    shown.set(parentElement, live)
  }
  live.trigger = setTriggerValue
  live.update(data)
  return () => {
    live.stop()
    shown.delete(parentElement)
  }
}
