import { GRAMMAR } from './grammar.ts';
import type { Rule } from './rule.ts';
import { STRUCTURE } from './structure.ts';
import { WORDING } from './wording.ts';

export const RULES: Rule[] = [...GRAMMAR, ...WORDING, ...STRUCTURE];
