#include "cli/replace.h"

int
replace_lock(struct replace *old, const char *path,
    const struct filter_use *use, struct error *error)
{
	int result = 0;

	*old = (struct replace)REPLACE_NONE;
	if (filter_location(path)->is_path)
		result = filter_open(&old->filter, path, use, error);
	/* Not a filter, no matter why: lock the file itself. */
	if (result < 0 && error->status != STATUS_LOCKED)
		result = file_open(&old->other, path, FILE_WRITE, &use->wait,
		    error);
	old->found = result == 0;
	return result < 0 ? -1 : 0;
}

int
replace_refuse(const char *path, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: the %s exists; --force"
	    " replaces it", path, filter_location(path)->noun);
}

void
replace_unlock(struct replace *old)
{
	filter_close(old->filter, &(struct error){ 0 });
	file_close(&old->other);
}
