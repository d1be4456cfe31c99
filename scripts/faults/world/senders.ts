import { createHmac, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** What became of a delivery. */
export type Answer = 'stored' | 'refused' | 'unknown' | 'unanswered';

const TIMEOUT_MS = 10_000;

/** Git hosts that send signed webhooks to the receivers. */
export class Senders {
  readonly #file: string;
  #secret = newSecret();
  /** All secrets that there ever were, for the search in logs. */
  readonly secrets = [this.#secret];
  readonly #urls: string[];

  constructor(file: string, urls: string[]) {
    this.#file = file;
    this.#urls = urls;
  }

  async writeSecret(): Promise<void> {
    await writeFile(this.#file, this.#secret, { mode: 0o600 });
  }

  /** As people rotate: both secrets count, then the host gets the new one, then the old one goes. */
  async rotate(): Promise<void> {
    const [before, next] = [this.#secret, newSecret()];
    this.secrets.push(next);
    await writeFile(this.#file, `${next}\n${before}\n`);
    // Mounted Secrets are read again once a second.
    await sleep(1_500);
    this.#secret = next;
    await sleep(1_500);
    if (this.#secret === next) await this.writeSecret();
  }

  /** Sends a delivery once, as most hosts do, to one of the receivers. */
  async post(receiver: number, target: string, event: string, payload: object): Promise<Answer> {
    const body = JSON.stringify({ ...payload, id: randomBytes(4).toString('hex') });
    const headers = {
      'Content-Type': 'application/json',
      'X-GitHub-Event': event,
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', this.#secret).update(body).digest('hex')}`,
    };
    const url = `${this.#urls[receiver % this.#urls.length]}/webhook/${target}`;
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
      await response.arrayBuffer();
      if (response.status === 202) return 'stored';
      return response.status < 500 ? 'refused' : 'unknown';
    } catch (error) {
      // Nobody listened: it cannot have been taken.
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      return code === 'ECONNREFUSED' ? 'refused' : 'unanswered';
    }
  }
}

function newSecret(): string {
  return `hook-${randomBytes(12).toString('hex')}`;
}
