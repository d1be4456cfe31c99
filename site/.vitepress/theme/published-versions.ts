import { useRoute, withBase } from 'vitepress';
import { onMounted, ref } from 'vue';

declare const __SITE_BASE__: string;
declare const __DOCS_VERSION__: string;

/** Version of these pages. Empty outside of the published site. */
export const VERSION = __DOCS_VERSION__;

/** The published versions: `next`, then the releases, the newest first. Empty until they are loaded. */
const versions = ref<string[]>([]);

/** Loads the published versions, and returns them with the address of the current page in another version. */
export function usePublishedVersions() {
  const route = useRoute();

  onMounted(async () => {
    if (!VERSION || versions.value.length > 0) return;
    const response = await fetch(`${__SITE_BASE__}versions.json`).catch(() => undefined);
    if (response?.ok) versions.value = await response.json();
  });

  /** If the version doesn't have the page, the page for missing addresses leads to its start page. */
  const addressIn = (version: string) => `${__SITE_BASE__}${version}/${route.path.slice(withBase('/').length)}`;

  return { versions, addressIn };
}
