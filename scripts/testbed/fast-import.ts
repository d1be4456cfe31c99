/** The change at a path: content, content with the executable bit, a symlink's target, a submodule, or a deletion. */
export type FileChange =
  | string
  | Buffer
  | { content: string | Buffer; executable: boolean }
  | { symlink: string }
  /** The submodule's commit. */
  | { submodule: string }
  | null;

/** A commit to write; `parent` and `tree` name objects, and the files change that tree (default: the parent's). */
export interface NewCommit {
  ref: string;
  message: string;
  files: Record<string, FileChange>;
  parent?: string;
  tree?: string;
}

/** Returns one commit in the format of git-fast-import(1); git prints its id. */
export function fastImportStream({ ref, message, files, parent, tree }: NewCommit): Buffer {
  const now = Math.floor(Date.now() / 1000);
  const parts: (string | Buffer)[] = [
    // Without a parent the ref has to be reset, because fast-import would continue from its tip.
    ...(parent ? [] : [`reset ${ref}\n`]),
    `commit ${ref}\nmark :1\ncommitter Test Bed <testbed@example.test> ${now} +0000\n`,
    ...data(message),
    ...(parent ? [`from ${parent}\n`] : []),
    ...(tree ? [`M 040000 ${tree} ""\n`] : []),
  ];
  for (const [path, change] of Object.entries(files)) parts.push(...changeOf(quote(path), change));
  parts.push('get-mark :1\ndone\n');
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function changeOf(path: string, change: FileChange): (string | Buffer)[] {
  if (change === null) return [`D ${path}\n`];
  if (typeof change === 'string' || Buffer.isBuffer(change)) return [`M 100644 inline ${path}\n`, ...data(change)];
  if ('submodule' in change) return [`M 160000 ${change.submodule} ${path}\n`];
  if ('symlink' in change) return [`M 120000 inline ${path}\n`, ...data(change.symlink)];
  return [`M ${change.executable ? '100755' : '100644'} inline ${path}\n`, ...data(change.content)];
}

function data(content: string | Buffer): (string | Buffer)[] {
  return [`data ${Buffer.byteLength(content)}\n`, content, '\n'];
}

function quote(path: string): string {
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
