interface Manifest {
  readonly repository: { readonly url: string };
}

/** Lets the relative links of a README lead to the repository: the package has neither the docs nor the pictures. */
export function withRepositoryLinks(text: string, { repository }: Manifest): string {
  const base = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  return text.replace(/(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)/gi, (_, image: string, label: string, path: string) => {
    return `${image}${label}${base}/${image ? 'raw' : 'blob'}/main/${path}`;
  });
}
