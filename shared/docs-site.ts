/** Address of the documentation site. It has a directory for each release, such as `v1.2.3`, and `next` for `main`. */
export const SITE = 'https://stoker-operator.github.io/stoker-operator';

/** Returns the address of the documentation of a version: of `next` for builds that aren't a release, and for pre-releases. */
export const docsOf = (version: string): string =>
  `${SITE}/${/^\d+\.\d+\.\d+$/.test(version) ? `v${version}` : 'next'}`;

/** Returns the address of a page in `docs/`, which can have an anchor, such as `how-to/upgrading.md#crds`. */
export const docsAt = (version: string, page: string): string =>
  `${docsOf(version)}/${page.replace(/(?:README)?\.md(?=#|$)/, '')}`;
