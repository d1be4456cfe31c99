import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Returns the violations of WCAG 2.2, level AA, that axe-core finds, as `rule: element`. */
export async function faultsOf(page: Page): Promise<string[]> {
  // In the page's own way it would be refused: nothing from elsewhere runs there.
  await page.evaluate(axe.source);
  return await page.evaluate(async () => {
    const { axe } = globalThis as typeof globalThis & { axe: typeof import('axe-core') };
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const { violations } = await axe.run({ runOnly: tags });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
    );
  });
}
