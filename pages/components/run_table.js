// A table of runs with real links: a plain click opens inside the page, a modified one as the browser does.
const COLUMNS = [
  ["Status", "state"], ["Chat", "title"], ["Model", "model"], ["Started", "started"],
  ["Time", "num"], ["In", "num", "Tokens sent to the model"], ["Out", "num", "Tokens the model wrote"], ["Cost", "num"],
  ["Tools", "num", "Tool calls"],
]

const element = (page, tag, className, text) => {
  const made = page.createElement(tag)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

const link = (page, href, text, open) => {
  const made = element(page, "a", "", text)
  made.href = href
  made.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return event.stopPropagation()
    event.preventDefault()
    event.stopPropagation()
    open()
  }
  return made
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const page = parentElement.ownerDocument ?? document
  const table = parentElement.querySelector("table")
  const head = element(page, "tr")
  for (const [name, className, meaning] of COLUMNS) {
    const cell = element(page, "th", className, name)
    cell.scope = "col"
    if (meaning) cell.title = meaning
    head.append(cell)
  }
  const rows = data.rows.map((run) => {
    const row = element(page, "tr")
    const openRun = () => setTriggerValue("opened", run.id)
    row.onclick = openRun
    row.dataset.run = run.id

    const state = element(page, "td", "state")
    const badge = link(page, run.href, "", openRun)
    badge.className = `badge ${run.color}`
    badge.title = run.reason || `Run ${run.id}`
    const icon = element(page, "span", "icon", run.icon)
    icon.setAttribute("aria-hidden", "true")
    badge.append(icon, element(page, "span", "", run.word))
    state.append(badge)

    const title = element(page, "td", "title")
    title.title = run.title
    if (run.chat) title.append(link(page, run.chat, run.title, () => setTriggerValue("chat", run.thread)))
    else title.append(element(page, "span", "muted", run.title))

    const model = element(page, "td", "model", run.model)
    model.title = run.model
    const started = element(page, "td", "started", run.started)
    started.title = run.exact
    const numbers = [run.time, run.input, run.output, run.cost, run.tools]
    row.append(state, title, model, started)
    for (const text of numbers) row.append(element(page, "td", text === "unknown" ? "num muted" : "num", text))
    return row
  })
  const thead = element(page, "thead")
  thead.append(head)
  const tbody = element(page, "tbody")
  tbody.append(...rows)
  table.replaceChildren(thead, tbody)
}
