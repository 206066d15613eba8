-- A host as it is.
return answer('view', view(take()))
