// Light Markdown for text that is still being written. Builds DOM nodes only: no text of a model ever becomes HTML.

// Spans are bounded, so that a long text full of unclosed marks costs no more than any other.
const INLINE =
  /(`+)([^`]|[^`][\s\S]{0,2000}?[^`])\1(?!`)|\*\*(?=\S)([\s\S]{0,2000}?\S)\*\*|(?<![\w*])\*(?=[^\s*])([\s\S]{0,2000}?[^\s*])\*(?![\w*])|(?<!\w)_(?=[^\s_])([\s\S]{0,2000}?[^\s_])_(?!\w)|~~(?=\S)([\s\S]{0,2000}?\S)~~|!?\[([^\]\n]{0,500})\]\(\s*<?([^\s)>]+)>?[^)\n]*\)|(https?:\/\/[^\s<>()\[\]"'`]+[^\s<>()\[\]"'`.,;:!?])/g

function element(name, ...children) {
  const node = document.createElement(name)
  node.append(...children)
  return node
}

function link(label, address) {
  if (!/^(https?:|mailto:)/i.test(address)) return document.createTextNode(label || address)
  const node = element("a", label || address)
  node.href = address
  node.target = "_blank"
  node.rel = "noopener noreferrer"
  return node
}

function inline(text, depth = 0) {
  const nodes = []
  let from = 0
  const put = (plain) => {
    plain.split(/ {2,}\n|\\\n/).forEach((part, index) => {
      if (index) nodes.push(document.createElement("br"))
      if (part) nodes.push(document.createTextNode(part.replace(/\\([!-/:-@[-`{-~])/g, "$1")))
    })
  }
  for (const match of text.matchAll(INLINE)) {
    if (match.index > 0 && text[match.index - 1] === "\\") continue
    put(text.slice(from, match.index))
    from = match.index + match[0].length
    const deeper = (inner) => (depth < 4 ? inline(inner, depth + 1) : [inner])
    if (match[1]) nodes.push(element("code", match[2].replace(/^ (.*) $/, "$1")))
    else if (match[3] !== undefined) nodes.push(element("strong", ...deeper(match[3])))
    else if (match[4] !== undefined) nodes.push(element("em", ...deeper(match[4])))
    else if (match[5] !== undefined) nodes.push(element("em", ...deeper(match[5])))
    else if (match[6] !== undefined) nodes.push(element("del", ...deeper(match[6])))
    else if (match[8] !== undefined) nodes.push(link(match[7], match[8]))
    else nodes.push(link("", match[9]))
  }
  put(text.slice(from))
  return nodes
}

const FENCE = /^\s*(`{3,}|~{3,})/
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+/
const RULE = /^ {0,3}([-*_])\s*(?:\1\s*){2,}$/
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/

function startsBlock(line, next) {
  return (
    FENCE.test(line) ||
    /^#{1,6}\s/.test(line) ||
    /^\s*>/.test(line) ||
    ITEM.test(line) ||
    RULE.test(line) ||
    (line.includes("|") && next !== undefined && next.includes("-") && TABLE_RULE.test(next))
  )
}

// Cuts text into blocks; every block but the last is complete, so its node never changes again.
function blocks(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n")
  const found = []
  let at = 0
  const take = (kind, end) => {
    found.push({ kind, source: lines.slice(at, end).join("\n") })
    at = end
  }
  while (at < lines.length) {
    const line = lines[at]
    const fence = line.match(FENCE)
    let end = at + 1
    if (!line.trim()) {
      at += 1
    } else if (fence) {
      const close = new RegExp("^\\s*" + fence[1][0] + "{" + fence[1].length + ",}\\s*$")
      while (end < lines.length && !close.test(lines[end])) end += 1
      take("code", Math.min(end + 1, lines.length))
    } else if (/^#{1,6}\s/.test(line)) {
      take("heading", end)
    } else if (RULE.test(line)) {
      take("rule", end)
    } else if (/^\s*>/.test(line)) {
      while (end < lines.length && lines[end].trim()) end += 1
      take("quote", end)
    } else if (ITEM.test(line)) {
      while (end < lines.length && (lines[end].trim() ? ITEM.test(lines[end]) || /^\s/.test(lines[end]) : ITEM.test(lines[end + 1] ?? "") || /^\s{2,}\S/.test(lines[end + 1] ?? ""))) end += 1
      take("list", end)
    } else if (startsBlock(line, lines[end])) {
      while (end < lines.length && lines[end].includes("|")) end += 1
      take("table", end)
    } else {
      while (end < lines.length && lines[end].trim() && !startsBlock(lines[end], lines[end + 1])) end += 1
      take("paragraph", end)
    }
  }
  return found
}

function cells(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim())
}

function table(source) {
  const [head, rule, ...rows] = source.split("\n")
  const sides = cells(rule).map((mark) => (mark.endsWith(":") ? (mark.startsWith(":") ? "center" : "right") : ""))
  const row = (line, name) => {
    const made = cells(line).map((cell) => element(name, ...inline(cell)))
    made.forEach((cell, index) => (cell.style.textAlign = sides[index] ?? ""))
    return element("tr", ...made)
  }
  const node = element("table", element("thead", row(head, "th")), element("tbody", ...rows.map((line) => row(line, "td"))))
  const wrap = element("div", node)
  wrap.className = "wide"
  return wrap
}

function list(source) {
  const lines = source.split("\n")
  const first = lines[0].match(ITEM)
  const node = element(/\d/.test(first[2]) ? "ol" : "ul")
  if (node.tagName === "OL") node.start = parseInt(first[2], 10)
  const indent = first[1].length
  let item = []
  const close = () => {
    if (!item.length) return
    const width = item[0].match(ITEM)[0].length
    const inner = [item[0].slice(width), ...item.slice(1).map((line) => line.slice(Math.min(width, line.search(/\S|$/))))]
    const parts = blocks(inner.join("\n")).map((block) =>
      block.kind === "paragraph" ? element("span", ...inline(block.source)) : build(block)
    )
    node.append(element("li", ...parts))
    item = []
  }
  for (const line of lines) {
    const match = line.match(ITEM)
    if (match && match[1].length <= indent) close()
    item.push(line)
  }
  close()
  return node
}

function build(block) {
  const { kind, source } = block
  if (kind === "code") {
    const lines = source.split("\n")
    const opened = lines[0].match(FENCE)[1]
    const closed = lines.length > 1 && lines[lines.length - 1].trim().startsWith(opened)
    return element("pre", element("code", lines.slice(1, closed ? -1 : undefined).join("\n")))
  }
  if (kind === "heading") {
    const level = source.match(/^#+/)[0].length
    return element("h" + level, ...inline(source.replace(/^#+\s+/, "").replace(/\s+#+\s*$/, "")))
  }
  if (kind === "rule") return element("hr")
  if (kind === "quote") {
    const inner = source.split("\n").map((line) => line.replace(/^\s*> ?/, "")).join("\n")
    return element("blockquote", ...blocks(inner).map(build))
  }
  if (kind === "list") return list(source)
  if (kind === "table") return table(source)
  return element("p", ...inline(source))
}

// Shows `text` inside `root`, touching only the blocks that changed.
function showMarkdown(root, text) {
  const wanted = blocks(text)
  const shown = root.shownBlocks ?? (root.shownBlocks = [])
  wanted.forEach((block, index) => {
    const known = shown[index]
    if (known && known.kind === block.kind && known.source === block.source) return
    const node = build(block)
    node.dir = "auto"
    if (known) known.node.replaceWith(node)
    else root.append(node)
    shown[index] = { ...block, node }
  })
  shown.splice(wanted.length).forEach((extra) => extra.node.remove())
}
