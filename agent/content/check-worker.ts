import { parentPort, workerData } from 'node:worker_threads';
import { checkSyntax } from '../../shared/domain/syntax/check-syntax.ts';
import { describeProblem } from '../../shared/domain/syntax/syntax-problem.ts';
import type { CheckRequest, FileProblem } from './check-thread.ts';

const { current } = workerData as { current: Int32Array };

/** Checks the syntax of files in a thread that can be ended, because a file can be made to keep a parser busy. */
parentPort?.on('message', (requests: CheckRequest[]) => {
  const problems: FileProblem[] = [];
  for (const { number, format, content } of requests) {
    Atomics.store(current, 0, number);
    const problem = checkSyntax(Buffer.from(content), format);
    if (problem) problems.push({ number, rule: format, problem: describeProblem(problem) });
  }
  parentPort?.postMessage(problems);
});
parentPort?.postMessage('ready');
