/** Some faults with new programs. Its seed gives the plan, so a failure is replayed with its piece alone. */
export interface Piece {
  seed: number;
  faults: number;
}

/** Maximum number of faults in a piece. */
const MOST = 100;

/** Divides the faults of a run into pieces, which have the seed of the run and the seeds after it. */
export function piecesOf({ seed, faults }: Piece): Piece[] {
  const pieces: Piece[] = [];
  for (let done = 0; done < faults; done += MOST) {
    pieces.push({ seed: seed + done / MOST, faults: Math.min(faults - done, MOST) });
  }
  return pieces;
}
