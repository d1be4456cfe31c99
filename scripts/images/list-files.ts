import type { Program } from './programs.ts';

/** A file of an image: its source, relative to the checkout, and its absolute path in the image. */
export interface ImageFile {
  from: string;
  to: string;
}

/** Lists all files that an image adds to its base image. */
export function listFiles(program: Program): ImageFile[] {
  const bundle = `${program}.mjs`;
  return [
    { from: `dist/${bundle}`, to: `/app/${bundle}` },
    { from: `dist/${bundle}.map`, to: `/app/${bundle}.map` },
    { from: `dist/${bundle}.LEGAL.txt`, to: `/app/${bundle}.LEGAL.txt` },
    { from: 'LICENSE', to: '/app/LICENSE' },
  ];
}
