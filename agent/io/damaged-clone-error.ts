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
