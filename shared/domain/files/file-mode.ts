/** Modes that a mapping can set: the owner can read the file, others can't write it, and no special bit is set. */
const VALID = '^0[4-7][0-7][0145]$';

/** The CEL rule for such a mode, with its message. */
export const FILE_MODE_RULE = {
  rule: `self.matches('${VALID}')`,
  message:
    'must be four octal digits in quotes, such as "0600" or "0440": readable for the owner, not writable for others, and without a setuid, setgid, or sticky bit',
};

/** Returns the permission bits of a mode in a mapping; undefined if it isn't valid. */
export const parseFileMode = (mode: string): number | undefined =>
  new RegExp(VALID).test(mode) ? Number.parseInt(mode, 8) : undefined;

/** Formats the bits of a mode as in a mapping, such as `0600`. */
export const formatFileMode = (mode: number): string => mode.toString(8).padStart(4, '0');
