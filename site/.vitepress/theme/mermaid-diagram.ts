import { useData } from 'vitepress';
import { computed, defineComponent, h, onMounted, ref, useId, watch } from 'vue';
import { loadMermaid } from './load-mermaid.ts';

/** Draws a diagram in the browser, and shows its source until then. */
export const MermaidDiagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData();
    const code = computed(() => decodeURIComponent(props.source));
    const drawing = ref('');
    const id = `diagram-${useId().replaceAll(/\W/g, '')}`;

    async function draw() {
      const mermaid = await loadMermaid();
      mermaid.initialize(optionsFor(isDark.value));
      drawing.value = (await mermaid.render(id, code.value)).svg;
    }

    onMounted(draw);
    watch([isDark, code], draw);
    return () =>
      drawing.value
        ? h('div', { class: 'diagram', innerHTML: drawing.value })
        : h('pre', { class: 'diagram' }, code.value);
  },
});

/** Returns options for narrow diagrams. Wider ones would shrink to the text until their labels are unreadable. */
const optionsFor = (isDark: boolean) => ({
  startOnLoad: false,
  theme: isDark ? 'dark' : 'neutral',
  fontFamily: 'inherit',
  themeVariables: { fontSize: '14px' },
  flowchart: { useMaxWidth: false, nodeSpacing: 24, rankSpacing: 32, wrappingWidth: 140, padding: 8 },
  sequence: {
    useMaxWidth: false,
    wrap: true,
    mirrorActors: false,
    width: 120,
    height: 40,
    actorMargin: 16,
    actorFontSize: 14,
    messageFontSize: 14,
  },
  state: { useMaxWidth: false, nodeSpacing: 32, rankSpacing: 28 },
  gantt: { useMaxWidth: false, useWidth: 624 },
});
