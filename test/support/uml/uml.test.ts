/** Boots user-mode Linux once, where it is installed: `npm run` of the IPVS suites installs it. */
import { describe, expect, it } from 'vitest';
import { umlUnsupported } from './requirements.ts';
import { runInUml, UmlError } from './uml.ts';

const unsupported = umlUnsupported();

describe.skipIf(unsupported !== undefined)(
  unsupported === undefined ? 'user-mode Linux' : `user-mode Linux (skipped: ${unsupported})`,
  () => {
    it('runs a command with IPVS in its kernel, and brings back what it wrote and how it ended', async () => {
      let streamed = '';
      const result = await runInUml({
        argv: ['sh', '-c', 'ipvsadm -A -t 192.0.2.1:80 -s rr; ipvsadm -Sn; echo "it\'s $WORD" >&2; exit 3'],
        env: { WORD: 'a $word' },
        timeoutMs: 120_000,
        onOutput: (text) => {
          streamed += text;
        },
      });
      expect(result.exitCode).toBe(3);
      expect(result.output).toBe("-A -t 192.0.2.1:80 -s rr\nit's a $word\n");
      expect(streamed).toBe(result.output);
      expect(result.kernelLog).toContain('IPVS: Registered protocols');
    }, 150_000);

    it('switches the machine off when its time is over, and says so', async () => {
      const hung = runInUml({ argv: ['sleep', '1000'], timeoutMs: 10_000 });
      const error = await hung.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(UmlError);
      expect(String(error)).toContain('not done after 10 s and switched off');
    }, 60_000);
  },
);
