import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { targetOf } from './addresses.ts';

/** An entry of the sidebar: a page, or a group of entries. */
export interface SidebarItem {
  text: string;
  link?: string;
  items?: SidebarItem[];
  collapsed?: boolean;
}

const checkout = path.join(import.meta.dirname, '../..');
const INDEX = 'docs/README.md';
const DECISIONS = 'docs/adr';

/**
 * Reads the sidebar from the index of the docs. Each heading is a group, each table a list of its pages. A table whose
 * header has a text is a nested group. The first two groups are open.
 */
export function readSidebar(ref: string): SidebarItem[] {
  const groups: SidebarItem[] = [];
  let list: SidebarItem[] = [];
  for (const line of readFileSync(path.join(checkout, INDEX), 'utf8').split('\n')) {
    const [, heading] = /^## (.+)$/.exec(line) ?? [];
    const [, title] = /^\| ([^|[\]]+) \| \|$/.exec(line) ?? [];
    const [, text, link] = /^\| \[([^\]]+)\]\(([^)#]+)\) \|/.exec(line) ?? [];
    if (heading) {
      list = [];
      groups.push({ text: heading, collapsed: groups.length > 1, items: list });
    } else if (title && groups.length > 0) {
      list = [];
      groups.at(-1)?.items?.push({ text: sentence(title), collapsed: true, items: list });
    } else if (text && link) {
      const items = path.join('docs', link) === DECISIONS ? { items: decisions(ref), collapsed: true } : {};
      list.push({ text: text.replaceAll('`', ''), link: targetOf(link, INDEX, ref), ...items });
    }
  }
  return groups.filter(({ items = [] }) => items.length > 0);
}

const sentence = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}`;

/** Lists the records in `docs/adr`, the newest first. */
function decisions(ref: string): SidebarItem[] {
  const files = readdirSync(path.join(checkout, DECISIONS)).filter((file) => /^\d{4}-.*\.md$/.test(file));
  return files
    .sort()
    .reverse()
    .map((file) => {
      const [, title = file] = /^# (.+)$/m.exec(readFileSync(path.join(checkout, DECISIONS, file), 'utf8')) ?? [];
      return { text: title, link: targetOf(path.join('adr', file), INDEX, ref) };
    });
}
