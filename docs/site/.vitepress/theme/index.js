import DefaultTheme from 'vitepress/theme'
import Mermaid from './mermaid.js'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component('Mermaid', Mermaid),
}
