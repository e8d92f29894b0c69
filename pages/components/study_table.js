// A table with real links: a plain click opens inside the page, a modified one as the browser does. Sorting is of the
// rows that are here.
const SVG = "http://www.w3.org/2000/svg"

const element = (page, tag, className, text) => {
  const made = page.createElement(tag)
  if (className) made.className = className
  if (text !== undefined && text !== null) made.textContent = text
  return made
}

const link = (page, href, open) => {
  const made = element(page, "a")
  made.href = href
  made.onclick = (event) => {
    event.stopPropagation()
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    open()
  }
  return made
}

// Bars from the smallest to the largest value of the table, so that rows can be compared.
function bars(page, values, low, high) {
  const drawing = page.createElementNS(SVG, "svg")
  const step = 110 / values.length
  drawing.setAttribute("class", "bars")
  drawing.setAttribute("viewBox", "0 0 110 22")
  drawing.setAttribute("preserveAspectRatio", "none")
  values.forEach((value, index) => {
    if (value === null) return
    const part = high > low ? (value - low) / (high - low) : 0.5
    const height = 2 + 20 * Math.min(1, Math.max(0, part))
    const bar = page.createElementNS(SVG, "rect")
    bar.setAttribute("x", index * step)
    bar.setAttribute("y", 22 - height)
    bar.setAttribute("width", Math.max(0.6, step - (step > 3 ? 1 : 0.2)))
    bar.setAttribute("height", height)
    drawing.append(bar)
  })
  return drawing
}

function fill(page, cell, made, row, open) {
  if (cell.dot) {
    const dot = element(page, "span", "dot")
    dot.style.background = cell.dot
    made.append(dot)
  }
  if (cell.badge) {
    const badge = element(page, "span", `badge ${cell.badge.color}`)
    const icon = element(page, "span", "icon", cell.badge.icon)
    icon.setAttribute("aria-hidden", "true")
    badge.append(icon, element(page, "span", "", cell.badge.word))
    made.append(badge)
  } else if (cell.bars) {
    const drawing = bars(page, cell.bars, cell.low, cell.high)
    drawing.setAttribute("role", "img")
    drawing.setAttribute("aria-label", cell.title ?? "")
    made.append(drawing)
  } else if (cell.link && row.href) {
    const made_link = link(page, row.href, open)
    made_link.textContent = cell.text
    made.append(made_link)
  } else made.append(cell.text ?? "")
  if (cell.title) made.title = cell.title
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const page = parentElement.ownerDocument ?? document
  const table = parentElement.querySelector("table")
  const frame = parentElement.querySelector(".frame")
  frame.style.maxHeight = data.height ? `${data.height}px` : ""
  table.setAttribute("aria-label", data.label)
  const sorting = (table.logicianSorting ??= { column: null, down: false })

  const draw = () => {
    const head = element(page, "tr")
    data.columns.forEach((column, index) => {
      const cell = element(page, "th", column.kind)
      cell.scope = "col"
      if (column.help) cell.title = column.help
      if (data.sortable) {
        const mark = sorting.column === index ? (sorting.down ? " ↓" : " ↑") : ""
        const button = element(page, "button", "", column.name + mark)
        button.type = "button"
        button.onclick = () => {
          sorting.down = sorting.column === index ? !sorting.down : column.kind === "num"
          sorting.column = index
          draw()
          table.querySelectorAll("th button")[index].focus()
        }
        cell.append(button)
        if (mark) cell.setAttribute("aria-sort", sorting.down ? "descending" : "ascending")
      } else cell.textContent = column.name
      head.append(cell)
    })
    const rows = [...data.rows]
    const at = sorting.column
    if (data.sortable && at !== null && at < data.columns.length) {
      const key = (row) => row.cells[at].sort ?? row.cells[at].text ?? ""
      rows.sort((one, other) => {
        const [a, b] = [key(one), key(other)]
        if (a === "" || b === "") return (a === "") - (b === "")
        return (a < b ? -1 : a > b ? 1 : 0) * (sorting.down ? -1 : 1)
      })
    }
    const body = element(page, "tbody")
    for (const row of rows) {
      const line = element(page, "tr", row.lit ? "lit" : "")
      const open = () => setTriggerValue("opened", row.id)
      if (row.id) {
        line.dataset.id = row.id
        line.onclick = open
      }
      row.cells.forEach((cell, index) => {
        const made = element(page, "td", [data.columns[index].kind, cell.look].filter(Boolean).join(" "))
        fill(page, cell, made, row, open)
        line.append(made)
      })
      body.append(line)
    }
    const top = element(page, "thead")
    top.append(head)
    table.replaceChildren(top, body)
  }
  draw()
}
