import type { Program } from './programs.ts';

/** A file of an image: its source, relative to the checkout, and its absolute path in the image. */
export interface ImageFile {
  from: string;
  to: string;
}

/** Lists all files that an image adds to its base image. */
export function listFiles(program: Program): ImageFile[] {
  const bundles = program === 'agent' ? ['agent.mjs', 'check-worker.mjs', 'render-worker.mjs'] : [`${program}.mjs`];
  const files = bundles.flatMap((bundle) => [bundle, `${bundle}.map`, `${bundle}.LEGAL.txt`]);
  return [
    ...files.map((file) => ({ from: `dist/${file}`, to: `/app/${file}` })),
    { from: 'LICENSE', to: '/app/LICENSE' },
  ];
}
