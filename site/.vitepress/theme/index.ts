import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import { HomeNotes } from './home-notes.ts';
import { MermaidDiagram } from './mermaid-diagram.ts';
import { VersionNotice } from './version-notice.ts';
import { VersionSwitcher } from './version-switcher.ts';
import './style.css';

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'doc-before': () => h(VersionNotice),
      'home-hero-before': () => h(VersionNotice),
      'home-hero-info-after': () => h(HomeNotes),
    }),
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram);
    app.component('VersionSwitcher', VersionSwitcher);
  },
} satisfies Theme;
