import { defineComponent, h } from 'vue';
import { usePublishedVersions, VERSION } from './published-versions.ts';

/** Lists the published versions, and opens the same page of another one. */
export const VersionSwitcher = defineComponent(() => {
  const { versions, addressIn } = usePublishedVersions();

  function open(event: Event) {
    window.location.href = `${addressIn((event.target as HTMLSelectElement).value)}${window.location.hash}`;
  }

  return () =>
    versions.value.length === 0
      ? undefined
      : h(
          'select',
          { class: 'versions', 'aria-label': 'Version', value: VERSION, onChange: open },
          versions.value.map((version) => h('option', { key: version }, version)),
        );
});
