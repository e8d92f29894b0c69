// The trace of a run: one line per thing that happened, with its place in time; a line opens to its events.
const element = (page, tag, className, text) => {
  const made = page.createElement(tag)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

const percent = (part, whole) => `${Math.min(100, Math.max(0, whole > 0 ? (100 * part) / whole : 0))}%`

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const page = parentElement.ownerDocument ?? document
  const list = parentElement.querySelector("ol")
  const opened = new Set([...list.querySelectorAll("details[open]")].map((details) => details.dataset.seq))

  const items = data.rows.map((row) => {
    const item = element(page, "li")
    const details = element(page, "details")
    details.dataset.seq = String(row.seq)
    const summary = element(page, "summary", `row ${row.color}`)

    const name = element(page, "span", `name indent${row.indent}`)
    const icon = element(page, "span", "icon", row.icon)
    icon.setAttribute("aria-hidden", "true")
    name.append(icon, element(page, "span", "label", row.label))
    if (row.detail) {
      const detail = element(page, "span", "detail", row.detail)
      detail.title = row.detail
      name.append(detail)
    }

    const track = element(page, "span", "track")
    const bar = element(page, "span", row.duration === null ? "dot" : row.open ? "bar open" : "bar")
    bar.style.left = percent(row.at, data.span)
    if (row.duration !== null) bar.style.width = percent(row.duration, data.span)
    track.append(bar)

    const at = element(page, "span", "at", row.at_words)
    at.title = row.exact
    summary.append(name, track, element(page, "span", "took", row.took), at)
    details.append(summary)

    // What is inside is built when the line is opened: most never are.
    const fill = () => {
      if (details.dataset.filled) return
      details.dataset.filled = "yes"
      const body = element(page, "div", "body")
      if (row.request) {
        const button = element(page, "button", "", "Show what was sent to the model")
        button.type = "button"
        button.onclick = () => setTriggerValue("request", row.seq)
        body.append(button)
      }
      for (const text of row.events) body.append(element(page, "pre", "", text))
      details.append(body)
    }
    if (opened.has(details.dataset.seq)) {
      fill()
      details.open = true
    }
    details.ontoggle = () => details.open && fill()
    item.append(details)
    return item
  })
  list.replaceChildren(...items)

  if (data.focus !== null && list.dataset.focused !== String(data.focus)) {
    list.dataset.focused = String(data.focus)
    const wanted = list.querySelector(`details[data-seq="${Number(data.focus)}"]`)
    if (wanted) {
      wanted.open = true
      wanted.scrollIntoView({ block: "center" })
      wanted.querySelector("summary").focus({ preventScroll: true })
    }
  }
}
