/** Names that a volume considers equal: those that differ only in case, or only in Unicode normalization. */
export interface NameFolding {
  /** `ascii`: the case of A to Z only. */
  case: boolean | 'ascii';
  unicode: boolean;
}

/** Differences between kinds of volumes. */
export interface VolumeTraits extends NameFolding {
  /** Whether files keep their modes, or only the executable bit. */
  keepsModes: boolean | 'executable';
}

/** Traits of most volumes. */
export const USUAL_TRAITS: Readonly<VolumeTraits> = { case: false, unicode: false, keepsModes: true };
