import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { MermaidDiagram } from './mermaid-diagram.ts';
import { VersionSwitcher } from './version-switcher.ts';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram);
    app.component('VersionSwitcher', VersionSwitcher);
  },
} satisfies Theme;
