/** Some faults with new programs; the plan is that of the seed, so that a failure is replayed with its piece alone. */
export interface Piece {
  seed: number;
  faults: number;
}

/** What has failed at some time, of the product or of the suite: each long run begins with these. */
export const FAILED: readonly Piece[] = [{ seed: 203, faults: 50 }];

/** Faults of a piece at most. */
const MOST = 100;

/** The pieces of a run: those of a seed and the seeds after it, or, where no seed is given, those that failed before them. */
export function piecesOf({ seed, faults }: { seed: number | undefined; faults: number }): Piece[] {
  const pieces = seed === undefined ? [...FAILED] : [];
  const first = seed ?? Math.floor(Math.random() * 1e6);
  for (let done = 0; done < faults; done += MOST) {
    pieces.push({ seed: first + done / MOST, faults: Math.min(faults - done, MOST) });
  }
  return pieces;
}
