/* Chooses a version of scan.c; see scan.h. */
#include "bits/version.h"
#include "key/scan.h"

VERSIONS_OF(scan)

const struct scan *
scan(void)
{
	static const struct scan *chosen;

	if (chosen == NULL)
		chosen = scan_versions[version_in_use()];
	return chosen;
}
