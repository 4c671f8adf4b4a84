/** User names and passwords in URLs: what is shown to anybody goes without them. */

/**
 * The URL without its user name and password. What is no URL, and may hold some all the same, is cut short, and is
 * no URL then either.
 */
export function urlWithoutUserinfo(url: string): string {
  if (!url.includes('@')) return url;
  const [scheme = ''] = /^[^/]*:\/\//.exec(url) ?? [];
  const rest = url.slice(scheme.length);
  if (!URL.canParse(scheme === '' ? `http://${rest}` : url)) return `${scheme}<hidden>`;
  const [authority = ''] = /^[^/\\?#]*/.exec(rest) ?? [];
  return scheme + rest.slice(authority.lastIndexOf('@') + 1);
}

/** Text that others have put together, where whatever looks like a URL has no user name and no password. */
export function textWithoutUserinfo(text: string): string {
  return text.replaceAll(/:\/\/[^\s"']*@/g, '://');
}
