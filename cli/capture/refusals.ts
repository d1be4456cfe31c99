import { INSPECTION, type LeftOut } from '../../shared/api/inspection.ts';
import { LEFT_OUT } from '../fleet/inspection.ts';

const OWN = {
  ambiguous: 'several mappings could take it: specify one with --to',
  converted: 'git would change its bytes, because of its attributes or configuration',
  copies: 'the repository file is also delivered to another path, with different content on the gateway',
  deleted: 'missing on the gateway: if that is intended, delete it in the repository',
  deletedSince: 'not in the checked-out commit: it was deleted since, or the checkout is older than the gateway',
  dirty: 'the checkout has an uncommitted change there, or an untracked file: commit it, or move it away',
  excluded: 'excluded by excludePatterns',
  ignored: 'ignored by git: see git check-ignore -v',
  inexact: 'a sync would write something else, because of its patches or template: edit it in the repository',
  link: 'a symbolic link, or something else that is not a regular file or directory, is on its way in the checkout',
  name: 'its path could be harmful',
  noMapping: 'no mapping delivers it',
  unmergeable: 'changed in git since, and git cannot merge it: copy it yourself',
  unplanned: 'spec.sync does not deliver it there from this commit',
  total: `exceeds ${INSPECTION.readBytes / 1024 ** 2} MiB for one command: use --path`,
} as const;

/** Reason for which a file isn't captured. */
export type RefusalCode = LeftOut | keyof typeof OWN | 'problem';

/** A file that isn't captured. */
export interface Refusal {
  /** Path on the gateway. */
  path: string;
  source?: string;
  code: RefusalCode;
  /** Message of another program, for the code `problem`. */
  message?: string;
}

/** Describes a refusal. */
export const refusalText = ({ code, message }: Refusal): string =>
  code === 'problem' ? (message ?? '') : { ...LEFT_OUT, ...OWN }[code];
