import type { Kind } from './passage.ts';

/** Telltale constructions per 1,000 words. */
export interface Ceilings extends Record<Kind, number> {
  /** Ceiling for each page; `page` is the ceiling of the median page. */
  'worst page': number;
}

/** Aims for the text, which `npm run prose -- FILES` checks. */
export const AIMS: Ceilings = {
  'worst page': 6,
  page: 2,
  chart: 4,
  message: 4,
  'doc comment': 4,
  comment: 4,
  identifier: 0,
};

/** `npm run check` fails above these. They're the aims, except for two fields of the manifest on the volume. */
export const CEILINGS: Ceilings = { ...AIMS, identifier: 0.1 };
