/** The pages of docs/ that are made from the program, as a whole or in parts. */
import { flagsMarkdown } from '../config/docs.ts';
import { eventsTable } from '../events/docs.ts';
import { kubeProxyMetricsTable, ownMetricsTable } from '../metrics/docs.ts';
import { endpointsTable } from '../serve/docs.ts';
import { withSection } from './markdown.ts';

/**
 * What each of them should be, by its path from the root. Rejects when a page has not the sections it should have, or
 * when something of the program is not described.
 * @param read gives a page as it is
 */
export async function generatedPages(
  read: (path: string) => Promise<string>,
): Promise<ReadonlyMap<string, string>> {
  const parts: readonly [path: string, section: string, content: string][] = [
    ['docs/endpoints.md', 'endpoints', await endpointsTable()],
    ['docs/metrics.md', "kube-proxy's metrics", kubeProxyMetricsTable()],
    ['docs/metrics.md', 'metrics of our own', ownMetricsTable()],
    ['docs/metrics.md', 'Events', eventsTable()],
  ];
  const pages = new Map([['docs/flags.md', flagsMarkdown()]]);
  for (const [path, section, content] of parts) {
    pages.set(path, withSection(pages.get(path) ?? (await read(path)), section, content));
  }
  return pages;
}
