import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { TransientError } from '../../shared/errors.ts';

/** Fills a folder with a keyring of gpg(1); needs neither a user name nor gpg's own daemon. */
export async function importOpenPgpKeys(keys: string[], folder: string): Promise<void> {
  const args = ['--homedir', folder, '--batch', '--quiet', '--no-autostart', '--import'];
  const child = spawn('gpg', args, { stdio: ['pipe', 'ignore', 'pipe'], timeout: 30_000 });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < 2_000) complaint += chunk.toString('utf8');
  });
  child.stdin.on('error', () => {}); // gpg ended early: its exit status tells
  child.stdin.end(keys.join('\n'));
  const code = await once(child, 'close').then(
    ([status]) => status as number | null,
    (error: Error) => error,
  );
  if (code === 0) return;
  const cause = code instanceof Error ? code : new Error(complaint);
  throw new TransientError('the OpenPGP keys of spec.git.verify cannot be read by gpg: is it in the image?', {
    code: 'git.signatureTool',
    reason: 'SignatureInvalid',
    cause,
  });
}
