import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Files of the page by name, inserted by the build. */
declare const PAGE_FILES: Record<string, string> | undefined;

/** A file of the page. */
export interface Asset {
  type: string;
  content: string;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** All files of the page. */
export function loadAssets(): ReadonlyMap<string, Asset> {
  const files = typeof PAGE_FILES === 'undefined' ? readFiles() : PAGE_FILES;
  return new Map(
    Object.entries(files).flatMap(([name, content]) => {
      const type = TYPES[path.extname(name)];
      return type ? [[name, { type, content }]] : [];
    }),
  );
}

/** Reads the files when the sources run without a bundle. */
function readFiles(): Record<string, string> {
  const directory = path.join(import.meta.dirname, 'page');
  return Object.fromEntries(
    readdirSync(directory).map((name) => [name, readFileSync(path.join(directory, name), 'utf8')]),
  );
}
