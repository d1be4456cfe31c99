/** Some faults with new programs. Its seed determines the plan, so a failed piece can be replayed alone. */
export interface Piece {
  seed: number;
  faults: number;
}

/** Maximum number of faults in a piece. */
const MAX_FAULTS = 100;

/** Divides the faults of a run into pieces, with the seed of the run and the seeds after it. */
export function piecesOf({ seed, faults }: Piece): Piece[] {
  const pieces: Piece[] = [];
  for (let done = 0; done < faults; done += MAX_FAULTS) {
    pieces.push({ seed: seed + done / MAX_FAULTS, faults: Math.min(faults - done, MAX_FAULTS) });
  }
  return pieces;
}
