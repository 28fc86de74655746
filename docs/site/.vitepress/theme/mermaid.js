/** A diagram. Mermaid is loaded by pages with a diagram only, and draws again when the reader changes between light and dark. */
import { useData, withBase } from 'vitepress'
import { h, onMounted, ref, watch } from 'vue'

let number = 0
let loading

/** The built file, which scripts/docs.ts copies: to bundle Mermaid would double the time of a build. */
function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement('script'), { src: withBase('/mermaid.js'), onerror: reject })
    script.onload = () => resolve(window.mermaid)
    document.head.append(script)
  })
  return loading
}

export default {
  props: { code: { type: String, required: true } },
  setup({ code }) {
    const { isDark } = useData()
    const svg = ref('')
    const draw = async () => {
      const mermaid = await load()
      mermaid.initialize({
        startOnLoad: false,
        theme: isDark.value ? 'dark' : 'neutral',
        themeVariables: { edgeLabelBackground: isDark.value ? '#0b120f' : '#ffffff' },
      })
      svg.value = (await mermaid.render(`diagram-${(number += 1)}`, decodeURIComponent(code))).svg
    }
    onMounted(draw)
    watch(isDark, draw)
    return () => h('div', { class: 'diagram', innerHTML: svg.value })
  },
}
