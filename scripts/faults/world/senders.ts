import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Slots } from '../../../shared/domain/limits/slots.ts';
import { headersOf } from '../../testbed/sign-delivery.ts';

/** Result of a delivery. */
export type Answer = 'stored' | 'refused' | 'unknown' | 'unanswered';

/** A delivery to the resource `<namespace>/<name>`. */
export interface Delivery {
  target: string;
  event: string;
  payload: object;
}

const TIMEOUT_MS = 10_000;

/** Git servers that send signed webhooks to the receivers. */
export class Senders {
  readonly #file: string;
  #secret = newSecret();
  /** Secrets that receivers may accept. */
  #accepted = [this.#secret];
  /** All secrets ever used, to search for them in logs. */
  readonly secrets = [this.#secret];
  readonly #urls: string[];
  readonly #rotations = new Slots(1);
  /** Number of deliveries by result. */
  readonly answers: Record<Answer, number> = { stored: 0, refused: 0, unknown: 0, unanswered: 0 };
  /** Responses that no fault explains, as texts. */
  readonly strange: string[] = [];

  /** The directory of the file must be empty, because receivers read all files in it. */
  constructor(file: string, urls: string[]) {
    this.#file = file;
    this.#urls = urls;
  }

  async writeSecret(): Promise<void> {
    await this.#accept([this.#secret]);
  }

  /** Rotates as users do: both secrets are accepted, then the sender gets the new one, then the old one is removed. */
  rotate(): Promise<void> {
    return this.#rotations.run(() => this.#rotate());
  }

  async #rotate(): Promise<void> {
    const next = newSecret();
    this.secrets.push(next);
    await this.#accept([next, this.#secret]);
    // Mounted Secrets are re-read once a second.
    await sleep(1_500);
    this.#secret = next;
    await sleep(1_500);
    await this.writeSecret();
  }

  /** Replaces all files at once, as a mounted Secret changes. */
  async #accept(secrets: string[]): Promise<void> {
    this.#accepted = secrets;
    const next = path.join(path.dirname(this.#file), '.next');
    await writeFile(next, secrets.join('\n'), { mode: 0o600 });
    await rename(next, this.#file);
  }

  /** Sends a delivery once, as most git servers do, to one of the receivers. */
  async post(receiver: number, delivery: Delivery): Promise<Answer> {
    const answer = await this.#send(receiver, delivery);
    this.answers[answer] += 1;
    return answer;
  }

  async #send(receiver: number, { target, event, payload }: Delivery): Promise<Answer> {
    const body = JSON.stringify({ ...payload, id: randomBytes(4).toString('hex') });
    const secret = this.#secret;
    const headers = headersOf(event, body, secret);
    const url = `${this.#urls[receiver % this.#urls.length]}/webhook/${target}`;
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
      const said = await response.text();
      const { answer, isStrange } = judgeAnswer(response.status, { isSecretAccepted: this.#accepted.includes(secret) });
      if (isStrange) this.strange.push(`a ${event} for ${target} was answered ${response.status}: ${said}`);
      return answer;
    } catch (error) {
      // Connection refused: it can't have been accepted.
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      return code === 'ECONNREFUSED' ? 'refused' : 'unanswered';
    }
  }
}

/**
 * Judges the status for a delivery that is authentic, well-formed, and for an existing resource. It may be refused only
 * if a receiver delayed it until its secret was rotated away.
 */
export function judgeAnswer(
  status: number,
  { isSecretAccepted }: { isSecretAccepted: boolean },
): { answer: Answer; isStrange: boolean } {
  if (status === 202) return { answer: 'stored', isStrange: false };
  if (status === 503) return { answer: 'unknown', isStrange: false };
  return { answer: status < 500 ? 'refused' : 'unknown', isStrange: status !== 401 || isSecretAccepted };
}

function newSecret(): string {
  return `hook-${randomBytes(12).toString('hex')}`;
}
