/** Returns the notice above the pages of a version, unless it is the latest release or there is no release. */
export function noticeOf(version: string, [, latest]: string[]): { text: string; latest: string } | undefined {
  if (!latest || latest === version) return undefined;
  const subject = version === 'next' ? 'an unreleased version' : `${version}, which is not the latest version`;
  return { text: `This page describes ${subject}.`, latest };
}
