import type { TestContext } from 'node:test';
import { type Program, startProgram } from './program.ts';

/** The page of `kubectl stoker ui`, as the bundle serves it. */
export interface Ui {
  program: Program;
  /** The address that was printed. */
  address: string;
  origin: string;
}

/** Runs `kubectl stoker ui` with a kubeconfig, and additional arguments. */
export async function startUi(t: TestContext, kubeconfig: string, ...args: string[]): Promise<Ui> {
  const line = ['ui', '--no-open', '--kubeconfig', kubeconfig, ...args];
  const program = startProgram(t, 'dist/kubectl-stoker.mjs', { env: {}, args: line });
  const [address] = await program.waitForLog(/http:\S+/);
  return { program, address, origin: new URL(address).origin };
}
