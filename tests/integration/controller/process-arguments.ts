import { readdir, readFile } from 'node:fs/promises';

/** Command lines of a process and its descendants, by process id; those that end in the meantime are omitted. */
export async function processArguments(root: number): Promise<Map<number, string>> {
  const children = new Map<number, number[]>();
  const ids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  for (const id of ids) {
    const parent = await parentOf(id);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), id]);
  }
  const found = new Map<number, string>();
  const pending = [root];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const line = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => undefined);
    if (line !== undefined) found.set(id, line.replaceAll('\0', ' '));
    pending.push(...(children.get(id) ?? []));
  }
  return found;
}

/** The fourth field of proc_pid_stat(5); the second one, a name in parentheses, can contain spaces. */
async function parentOf(id: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '');
  const parent = /\) \S (\d+) /.exec(stat.slice(stat.lastIndexOf(')')))?.[1];
  return parent === undefined ? undefined : Number(parent);
}
