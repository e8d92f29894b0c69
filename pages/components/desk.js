// Keeps the newest text in view while it is written, unless the person scrolled away; brings a linked turn into view;
// gives the keyboard back to the message box when it can be used again; copies answers.

// The last text of a run, from its events.
function answerOf(run) {
  return new Promise((resolve, reject) => {
    const source = new EventSource("/api/runs/" + run + "/events")
    let text = ""
    source.onmessage = (event) => {
      const { type, data } = JSON.parse(event.data)
      if (type === "message.added" && data.message?.role === "assistant") text = data.message.text || text
    }
    source.addEventListener("end", () => {
      source.close()
      resolve(text)
    })
    source.onerror = () => {
      source.close()
      reject(new Error("The run could not be read."))
    }
  })
}

// The promise is handed over at once: a browser lets a page write only while it still answers the click.
async function putOnClipboard(text) {
  try {
    if (navigator.clipboard?.write && window.ClipboardItem) {
      const blob = text.then((words) => new Blob([words], { type: "text/plain" }))
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })])
      return true
    }
    const area = Object.assign(document.createElement("textarea"), { value: await text })
    document.body.append(area)
    area.select()
    const done = document.execCommand("copy")
    area.remove()
    return done
  } catch {
    return false
  }
}

class Desk {
  constructor(page) {
    this.page = page
    this.main = page.querySelector('[data-testid="stMain"]')
    this.following = true
    this.onScroll = () => {
      if (performance.now() < this.quietUntil) return
      const { scrollTop, scrollHeight, clientHeight } = this.main
      const up = scrollTop < this.top - 2
      this.top = scrollTop
      if (scrollHeight - scrollTop - clientHeight < 48) this.following = true
      else if (up) this.following = false
    }
    this.quietUntil = 0
    this.settleUntil = 0
    this.top = 0
    // Whoever touches the page reads it: what opens under the pointer must not be scrolled away.
    this.onTouch = (event) => {
      this.settleUntil = 0
      if (event.target.closest?.("summary")) this.following = false
    }
    this.main?.addEventListener("scroll", this.onScroll, { passive: true })
    this.main?.addEventListener("pointerdown", this.onTouch, { capture: true, passive: true })
    this.onClick = (event) => {
      const box = event.target.closest?.('[class*="st-key-copy_"]')
      if (!box) return
      event.stopPropagation()
      event.preventDefault()
      const name = [...box.classList].find((word) => word.startsWith("st-key-copy_"))
      this.copy(box, name.slice("st-key-copy_".length))
    }
    page.addEventListener("click", this.onClick, { capture: true })
    this.watch = new ResizeObserver(() => this.follow())
    const block = page.querySelector('[data-testid="stMainBlockContainer"]')
    if (block) this.watch.observe(block)
  }

  update(data) {
    const moved = data.thread !== this.thread || data.sent !== this.sent
    if (moved) this.following = data.thread !== null && !data.target
    if (moved || data.busy !== this.busy) this.settleUntil = performance.now() + 2500
    if (data.target && data.target !== this.target) this.show(data.target, 20)
    if (this.busy && !data.busy && this.page.activeElement === this.page.body) this.refocus()
    Object.assign(this, { thread: data.thread, sent: data.sent, target: data.target, busy: data.busy })
    if (moved && data.thread === null && this.main) this.main.scrollTop = 0
    if (moved) this.follow()
  }

  follow() {
    if (!this.following || !this.main || !(this.busy || performance.now() < this.settleUntil)) return
    this.main.scrollTop = this.main.scrollHeight
    this.top = this.main.scrollTop
  }

  show(name, tries) {
    const turn = this.page.querySelector(".st-key-" + CSS.escape(name))
    if (!turn) {
      if (tries) setTimeout(() => this.show(name, tries - 1), 100)
      return
    }
    this.following = false
    this.quietUntil = performance.now() + 800
    turn.scrollIntoView({ block: "start" })
    this.main.scrollTop -= 72
    const tint = getComputedStyle(turn).getPropertyValue("--mark") || "rgba(76, 102, 214, 0.16)"
    turn.animate([{ backgroundColor: tint }, { backgroundColor: tint, offset: 0.7 }, { backgroundColor: "transparent" }], 2600)
  }

  async copy(box, run) {
    const told = await putOnClipboard(answerOf(run))
    const button = box.querySelector("button")
    for (const icon of box.querySelectorAll('span[role="img"]')) icon.textContent = told ? "check" : "error"
    button.setAttribute("aria-label", told ? "Copied" : "Could not be copied")
    setTimeout(() => {
      for (const icon of box.querySelectorAll('span[role="img"]')) icon.textContent = "content_copy"
      button.removeAttribute("aria-label")
    }, 1500)
  }

  refocus() {
    setTimeout(() => {
      if (this.page.activeElement === this.page.body) {
        this.page.querySelector('[data-testid="stChatInputTextArea"]')?.focus({ preventScroll: true })
      }
    }, 150)
  }

  stop() {
    this.page.removeEventListener("click", this.onClick, { capture: true })
    this.watch.disconnect()
    this.main?.removeEventListener("scroll", this.onScroll)
    this.main?.removeEventListener("pointerdown", this.onTouch, { capture: true })
  }
}

const desks = new WeakMap()

export default function ({ data, parentElement }) {
  let desk = desks.get(parentElement)
  if (!desk) {
    desk = new Desk(parentElement.ownerDocument ?? document)
    desks.set(parentElement, desk)
  }
  desk.update(data)
  return () => {
    desk.stop()
    desks.delete(parentElement)
  }
}
