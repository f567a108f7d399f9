#include "cli/replace.h"

int
replace_lock(struct replace *old, const char *path,
    const struct filter_use *use, struct error *error)
{
	int result;

	*old = (struct replace)REPLACE_NONE;
	old->unlocked = !filter_location(path)->is_path;
	if (old->unlocked)
		return 0;
	result = filter_open(&old->filter, path, use, error);
	if (result >= 0)
		return 0;
	if (error->status == STATUS_LOCKED)
		return -1;
	/* Not a filter, no matter why: lock the file itself. */
	result = file_open(&old->other, path, FILE_WRITE, &use->wait, error);
	return result < 0 ? -1 : 0;
}

int
replace_found(const struct replace *old)
{
	return old->filter != NULL || old->other.fd >= 0 || old->unlocked;
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
	struct error ignored;

	filter_close(old->filter, &ignored);
	file_close(&old->other);
}
