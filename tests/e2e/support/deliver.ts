import { signDelivery } from '../../../scripts/testbed/sign-delivery.ts';
import type { GitServer } from './git-server.ts';

/** Credentials of a sender. */
export interface Proof {
  hmac?: string;
  token?: string;
}

export interface Answer {
  status: number;
  body: string;
}

/** Sends GitHub's delivery for a push from inside the cluster, and returns the receiver's response. */
export async function deliverPush(git: GitServer, url: string, { hmac, token }: Proof = {}): Promise<Answer> {
  const body = JSON.stringify({ ref: 'refs/heads/main', after: '1'.padStart(40, '0') });
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    ...(hmac && { 'x-hub-signature-256': signDelivery(body, hmac) }),
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const script = `
    const response = await fetch(process.argv[1], { method: 'POST', headers: JSON.parse(process.argv[2]), body: process.argv[3] });
    console.log(JSON.stringify({ status: response.status, body: await response.text() }));`;
  const output = await git.exec('node', '--input-type=module', '--eval', script, url, JSON.stringify(headers), body);
  return JSON.parse(output) as Answer;
}
