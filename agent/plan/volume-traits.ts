/** What names a volume takes for one and the same: those that differ by case, or by the normal form of Unicode alone. */
export interface NameFolding {
  /** `ascii`: the case of A to Z only. */
  case: boolean | 'ascii';
  unicode: boolean;
}

/** What differs from one kind of volume to another. */
export interface VolumeTraits extends NameFolding {
  /** Whether files keep the executable bit that they get. */
  keepsModes: boolean;
}

/** Traits of most volumes. */
export const USUAL_TRAITS: Readonly<VolumeTraits> = { case: false, unicode: false, keepsModes: true };
