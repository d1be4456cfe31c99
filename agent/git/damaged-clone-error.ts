import { TransientError } from '../../shared/errors.ts';

/** The repository on disk cannot be read: it is deleted and fetched anew. */
export class DamagedCloneError extends TransientError {
  constructor(complaint: string) {
    super('the clone on disk cannot be read: it is made anew', {
      code: 'clone.damaged',
      reason: 'CloneDamaged',
      cause: new Error(complaint.slice(0, 500)),
    });
  }
}

/** A file is not in the repository on disk, be it that it was left out of a fetch. */
export class MissingBlobError extends DamagedCloneError {}
