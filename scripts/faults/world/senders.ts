import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signDelivery } from '../../testbed/sign-delivery.ts';

/** What became of a delivery. */
export type Answer = 'stored' | 'refused' | 'unknown' | 'unanswered';

/** A delivery to the resource `<namespace>/<name>`. */
export interface Delivery {
  target: string;
  event: string;
  payload: object;
}

const TIMEOUT_MS = 10_000;

/** Git hosts that send signed webhooks to the receivers. */
export class Senders {
  readonly #file: string;
  #secret = newSecret();
  /** What receivers may accept. */
  #accepted = [this.#secret];
  /** All secrets that there ever were, for the search in logs. */
  readonly secrets = [this.#secret];
  readonly #urls: string[];
  #rotation = Promise.resolve();
  /** How many deliveries were answered how. */
  readonly answers: Record<Answer, number> = { stored: 0, refused: 0, unknown: 0, unanswered: 0 };
  /** Answers that no fault explains, in words. */
  readonly strange: string[] = [];

  /** Nothing else may be in the folder of the file: receivers read what is next to it. */
  constructor(file: string, urls: string[]) {
    this.#file = file;
    this.#urls = urls;
  }

  async writeSecret(): Promise<void> {
    await this.#accept([this.#secret]);
  }

  /** As people rotate: both secrets count, then the host gets the new one, then the old one goes. One after the other. */
  rotate(): Promise<void> {
    this.#rotation = this.#rotation.then(() => this.#rotate());
    return this.#rotation;
  }

  async #rotate(): Promise<void> {
    const next = newSecret();
    this.secrets.push(next);
    await this.#accept([next, this.#secret]);
    // Mounted Secrets are read again once a second.
    await sleep(1_500);
    this.#secret = next;
    await sleep(1_500);
    await this.writeSecret();
  }

  /** All at once, as a mounted Secret changes. */
  async #accept(secrets: string[]): Promise<void> {
    this.#accepted = secrets;
    const next = path.join(path.dirname(this.#file), '.next');
    await writeFile(next, secrets.join('\n'), { mode: 0o600 });
    await rename(next, this.#file);
  }

  /** Sends a delivery once, as most hosts do, to one of the receivers. */
  async post(receiver: number, delivery: Delivery): Promise<Answer> {
    const answer = await this.#send(receiver, delivery);
    this.answers[answer] += 1;
    return answer;
  }

  async #send(receiver: number, { target, event, payload }: Delivery): Promise<Answer> {
    const body = JSON.stringify({ ...payload, id: randomBytes(4).toString('hex') });
    const secret = this.#secret;
    const headers = {
      'Content-Type': 'application/json',
      'X-GitHub-Event': event,
      'X-Hub-Signature-256': signDelivery(body, secret),
    };
    const url = `${this.#urls[receiver % this.#urls.length]}/webhook/${target}`;
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
      const said = await response.text();
      const { answer, isStrange } = judgeAnswer(response.status, { isSecretAccepted: this.#accepted.includes(secret) });
      if (isStrange) this.strange.push(`a ${event} for ${target} was answered ${response.status}: ${said}`);
      return answer;
    } catch (error) {
      // Nobody listened: it cannot have been taken.
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      return code === 'ECONNREFUSED' ? 'refused' : 'unanswered';
    }
  }
}

/**
 * What a status says of a delivery that is authentic, well-formed and for a resource that is there. Only one that a
 * receiver held up until its secret was rotated away may be refused.
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
