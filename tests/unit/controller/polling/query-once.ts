import { messageOf } from '../../../../shared/domain/text/message-of.ts';
import { queryClient, queryTools } from './query-world.ts';

// Queries the repository in the argument for its branch main, and prints the result.

const [repo = ''] = process.argv.slice(2);
const tools = queryTools();
// Its memory is tested, not its speed, and the machine may be busy.
const client = queryClient(tools, { namespace: 'default', git: { repo } }, 100_000);
const result = await client.query({ prefixes: ['refs/heads/main'] }).then(
  (refs) => ({ refs: Object.fromEntries(refs) }),
  (error: unknown) => ({ message: messageOf(error) }),
);
process.stdout.write(JSON.stringify(result));
tools.http.close();
