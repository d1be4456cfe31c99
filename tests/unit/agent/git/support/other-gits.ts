import type { ChildProcess } from 'node:child_process';
import { Git, type GitOptions } from '../../../../../shared/io/git/git.ts';

/** Speaks the protocol in which servers may refuse to send a commit or a file by its ID. */
export class OldProtocolGit extends Git {
  override spawn(args: string[], options: GitOptions): ChildProcess {
    return super.spawn(['-c', 'protocol.version=0', ...args], options);
  }
}

/** Can't be started for one command, as on a node that has no more processes. */
export class TiredGit extends Git {
  refused: string;

  constructor(refused = '') {
    super(process.env);
    this.refused = refused;
  }

  override spawn(args: string[], options: GitOptions): ChildProcess {
    const isRefused = args.includes(this.refused);
    return super.spawn(args, isRefused ? { ...options, environment: { PATH: '/nowhere' } } : options);
  }
}
