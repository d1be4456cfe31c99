import { useRoute, withBase } from 'vitepress';
import { defineComponent, h, onMounted, ref } from 'vue';

declare const __SITE_BASE__: string;
declare const __DOCS_VERSION__: string;

/** Lists the published versions, and opens the same page of another one. */
export const VersionSwitcher = defineComponent(() => {
  const route = useRoute();
  const current = __DOCS_VERSION__;
  const versions = ref<string[]>([]);

  onMounted(async () => {
    if (!current) return;
    const response = await fetch(`${__SITE_BASE__}versions.json`).catch(() => undefined);
    if (response?.ok) versions.value = await response.json();
  });

  /** If the version doesn't have the page, the page for missing addresses leads to its start page. */
  function open(event: Event) {
    const page = route.path.slice(withBase('/').length);
    window.location.href = `${__SITE_BASE__}${(event.target as HTMLSelectElement).value}/${page}${window.location.hash}`;
  }

  return () =>
    versions.value.length === 0
      ? undefined
      : h(
          'select',
          { class: 'versions', 'aria-label': 'Version', value: current, onChange: open },
          versions.value.map((version) => h('option', { key: version }, version)),
        );
});
