// One listener per tab for the keys that work everywhere. Keys typed into a field are left alone.
export default function (component) {
  const { parentElement, setTriggerValue } = component
  const page = parentElement.ownerDocument ?? document

  const typing = (element) =>
    element instanceof HTMLElement &&
    (element.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(element.tagName))

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return
    if (event.key === "/") {
      const box = page.querySelector(".st-key-search input")
      if (box) {
        event.preventDefault()
        box.focus()
        box.select()
      }
    } else if (event.key === "?") {
      event.preventDefault()
      setTriggerValue("help", Date.now())
    }
  }

  const former = parentElement.logicianKeys
  if (former) page.removeEventListener("keydown", former)
  parentElement.logicianKeys = onKey
  page.addEventListener("keydown", onKey)
  page.documentElement.dataset.logicianKeys = "on"
  return () => page.removeEventListener("keydown", onKey)
}
