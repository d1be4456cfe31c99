import { defineComponent, h } from 'vue';
import { noticeOf } from './notice-of.ts';
import { usePublishedVersions, VERSION } from './published-versions.ts';

/** Shows above a page that it isn't of the latest release, with a link to the same page of that release. */
export const VersionNotice = defineComponent(() => {
  const { versions, addressIn } = usePublishedVersions();
  return () => {
    const notice = noticeOf(VERSION, versions.value);
    if (!notice) return undefined;
    // With a target, the router of this version leaves the link to the browser.
    const link = h('a', { href: addressIn(notice.latest), target: '_self' }, `See ${notice.latest}.`);
    return h('div', { class: 'warning custom-block version-notice' }, [h('p', [notice.text, ' ', link])]);
  };
});
